/** The question of the requests view. */
import type { CompareParams } from "../../../shared/protocol";
import type { FlowMode } from "./flow/model/mode";

export interface RequestsQuestion extends CompareParams {
  /** How the flows of the chosen category are compared by eye. */
  mode?: FlowMode;
}
