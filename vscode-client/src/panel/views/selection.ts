/** The selections that the panel and its views exchange. */
import type { Location } from "../../shared/protocol";

/** A function of the source, selected outside of the view: its label and place. */
export interface Selection {
  label: string;
  location: Location | null;
}

/** An event from which a walk can begin. */
export interface SelectedEvent {
  event: number;
  /** The run of the event, if it may differ from the run that the view shows. */
  run?: string;
}
