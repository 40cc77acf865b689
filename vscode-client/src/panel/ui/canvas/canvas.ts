/** Watches the size, the resolution and the theme of a canvas. */

export interface CanvasChanges {
  /** It has another size. */
  sized(): void;
  /** The theme has other colours. */
  recoloured(): void;
}

/** Tells of changes until the signal ends it. */
export function watchCanvas(canvas: HTMLCanvasElement, changes: CanvasChanges, signal: AbortSignal): void {
  const sizes = new ResizeObserver(() => {
    changes.sized();
  });
  sizes.observe(canvas);
  const recoloured = (): void => {
    changes.recoloured();
  };
  const themes = new MutationObserver(recoloured);
  themes.observe(document.body, { attributes: true, attributeFilter: ["class"] });
  for (const media of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)"]) {
    matchMedia(media).addEventListener("change", recoloured, { signal });
  }
  signal.addEventListener("abort", () => {
    sizes.disconnect();
    themes.disconnect();
  });
}

/** Gives a canvas as many pixels as it has on the screen, and its context, in which they are counted in px. */
export function devicePixels(
  canvas: HTMLCanvasElement,
  settings?: CanvasRenderingContext2DSettings,
): CanvasRenderingContext2D | undefined {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d", settings) ?? undefined;
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
