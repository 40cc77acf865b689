/** The three modes of comparing two flows. */
export const FLOW_MODES = ["diff", "sides", "animation"] as const;
export type FlowMode = (typeof FLOW_MODES)[number];

export const MODE_WORDS: Record<FlowMode, { name: string; hint: string }> = {
  diff: { name: "Diff", hint: "Both flows in one picture: − only before, + only after" },
  sides: { name: "Side by side", hint: "Before on the left, after on the right, lines join the same calls" },
  animation: { name: "Animation", hint: "Animates from before to after and back" },
};

export function nextMode(mode: FlowMode): FlowMode {
  return FLOW_MODES[(FLOW_MODES.indexOf(mode) + 1) % FLOW_MODES.length] ?? "diff";
}
