/** The question of the view “Values”. */
import type { ValueParams } from "../../../shared/protocol";

/** The view decides itself when the test runs again. */
export type ValueQuestion = Omit<ValueParams, "isLook">;
