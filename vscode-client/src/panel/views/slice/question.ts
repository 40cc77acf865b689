/** The question of the slice view. */
import type { SliceParams } from "../../../shared/protocol";

export interface SliceQuestion extends SliceParams {
  /** Is the critical path marked in it? */
  showPath?: boolean;
}
