/** The colours of the theme, as canvases need them. */
import { HUES, mixed, type Rgb, SHADES } from "../hue";

export interface ThemeColours {
  /** By `hueOf`. */
  hues: readonly Rgb[];
  ground: Rgb;
  text: string;
  quiet: string;
  line: string;
  raised: string;
  focus: string;
  arrow: string;
  gap: string;
  match: string;
}

/** What the theme says at the moment. */
export function themeColours(body: HTMLElement): ThemeColours {
  const style = getComputedStyle(body);
  const probe = document.createElement("canvas").getContext("2d");
  const css = (name: string, otherwise: string): string => {
    if (!probe) return otherwise;
    probe.fillStyle = otherwise;
    probe.fillStyle = style.getPropertyValue(name).trim() || otherwise;
    return probe.fillStyle;
  };
  const ground = parseRgb(css("--vscode-editor-background", "#ffffff"));
  const hues: Rgb[] = [];
  for (let shade = 0; shade < SHADES; shade += 1) {
    for (let hue = 0; hue < HUES; hue += 1)
      hues.push(mixed(parseRgb(css(`--p${hue}`, "#888888")), ground, shade * 0.42));
  }
  return {
    hues,
    ground,
    text: css("--vscode-foreground", "#2b2f36"),
    quiet: css("--vscode-descriptionForeground", "#5c6470"),
    line: css("--vscode-panel-border", css("--vscode-widget-border", "#80808059")),
    raised: css("--vscode-sideBar-background", css("--vscode-editor-background", "#ffffff")),
    focus: css("--vscode-focusBorder", "#0b6bcb"),
    arrow: css("--chain", "#0b6bcb"),
    gap: css("--gap", "#8f1166"),
    match: css("--match", "#ffd84d"),
  };
}

export function parseRgb(css: string): Rgb {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(css);
  if (hex) return [1, 2, 3].map((at) => Number.parseInt(hex[at] ?? "0", 16)) as unknown as Rgb;
  const [r = 128, g = 128, b = 128] = (css.match(/\d+(\.\d+)?/g) ?? []).map(Number);
  return [r, g, b];
}
