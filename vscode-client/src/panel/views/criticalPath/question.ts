/** The question of the critical-path view. */
import type { CriticalPathParams } from "../../../shared/protocol";

export interface PathQuestion extends CriticalPathParams {
  /** The shown list: segments in order, labels, or parallel work. */
  shown?: "order" | "label" | "beside";
}
