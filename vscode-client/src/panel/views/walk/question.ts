/** The question of the walk view. */
import type { WalkParams } from "../../../shared/protocol";

export type WalkQuestion = Pick<WalkParams, "target" | "run" | "pick">;
