/**
 * Copies the current view: the table as CSV, the drawing as SVG or PNG. All views share this code, which reads the page.
 *
 * Invariant: a copied drawing needs no style sheet and contains the whole drawing, not only the visible part.
 */
import { csv } from "./csv";

export type CopyFormat = "csv" | "svg" | "png";

interface Vector {
  text: string;
  width: number;
  height: number;
}

/** Gives undefined where there is nothing to draw. */
type Write = () => Vector | undefined;

const writers = new WeakMap<Element, Write>();

/** What is drawn in an element in another way than by one SVG can be had as SVG, too. */
export function canBeSvg(element: Element, write: Write): void {
  element.classList.add("can-be-svg");
  writers.set(element, write);
}

/** What there is to copy of what is seen. */
export function copyable(root: ParentNode): CopyFormat[] {
  const found: CopyFormat[] = [];
  if (root.querySelector("table")) found.push("csv");
  if (drawing(root) ?? writer(root)) found.push("svg", "png");
  else if (root.querySelector("canvas")) found.push("png");
  return found;
}

/** Puts it on the clipboard, or where that takes no images into a file; says which. Throws an error for the user. */
export async function copy(root: ParentNode, what: CopyFormat, name: string): Promise<string> {
  if (what === "csv") {
    await navigator.clipboard.writeText(tables(root));
    return "Copied the table to the clipboard as CSV.";
  }
  const svg = drawing(root);
  const vector = svg ? standalone(svg) : writer(root)?.();
  if (what === "svg") {
    if (!vector) throw new Error("This view has no drawing.");
    await navigator.clipboard.writeText(vector.text);
    return "Copied the drawing to the clipboard as SVG.";
  }
  // A canvas is a picture already.
  const image = vector && (svg || !root.querySelector("canvas")) ? await painted(vector) : await pictured(root);
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": image })]);
    return "Copied the picture to the clipboard.";
  } catch {
    save(image, `${name}.png`);
    return `Saved the picture as ${name}.png.`;
  }
}

function tables(root: ParentNode): string {
  return [...root.querySelectorAll("table")]
    .map((table) => csv([...table.rows].map((row) => [...row.cells].map((one) => one.innerText || one.textContent))))
    .join("\r\n");
}

/** The largest SVG that is no icon, bar or sample. */
function drawing(root: ParentNode): SVGSVGElement | undefined {
  const found = [...root.querySelectorAll<SVGSVGElement>("svg.canvas, svg.drawing")];
  const area = (one: SVGSVGElement): number => one.clientWidth * one.clientHeight;
  return found.filter((one) => area(one) > 0).sort((a, b) => area(b) - area(a))[0];
}

function writer(root: ParentNode): Write | undefined {
  const element = root.querySelector(".can-be-svg");
  return element ? writers.get(element) : undefined;
}

const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-opacity",
  "stroke-linecap",
  "stroke-linejoin",
  "opacity",
  "font",
  "letter-spacing",
  "text-anchor",
  "dominant-baseline",
  "display",
  "visibility",
  "marker-end",
  "marker-start",
  "paint-order",
] as const;
const MARGIN = 16;

/** A copy with its styles in it, as large as its content; lengths in px. */
function standalone(svg: SVGSVGElement): Vector {
  const copied = svg.cloneNode(true) as SVGSVGElement;
  const originals = [svg, ...svg.querySelectorAll<SVGElement>("*")];
  const copies = [copied, ...copied.querySelectorAll<SVGElement>("*")];
  originals.forEach((original, at) => {
    const style = getComputedStyle(original);
    const target = copies[at];
    for (const name of STYLES) target?.style.setProperty(name, style.getPropertyValue(name));
  });
  // What was zoomed or moved is drawn as it is.
  const content = svg.querySelector<SVGGElement>("g.content");
  const node = content?.getBBox() ?? svg.getBBox();
  copied.querySelector("g.content")?.removeAttribute("transform");
  const [width, height] = [Math.ceil(node.width + 2 * MARGIN), Math.ceil(node.height + 2 * MARGIN)];
  copied.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copied.setAttribute("viewBox", `${node.x - MARGIN} ${node.y - MARGIN} ${width} ${height}`);
  copied.setAttribute("width", String(width));
  copied.setAttribute("height", String(height));
  copied.style.background = getComputedStyle(document.body).backgroundColor;
  return { text: new XMLSerializer().serializeToString(copied), width, height };
}

/** Larger ones are drawn smaller: browsers have a limit. */
const WIDEST = 8_000;

async function painted({ text, width, height }: Vector): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const scale = Math.min(2, WIDEST / Math.max(width, height));
  return canvasOf(width * scale, height * scale, (context) => {
    context.drawImage(image, 0, 0, width * scale, height * scale);
  });
}

/** Canvases as they lie over each other. */
async function pictured(root: ParentNode): Promise<Blob> {
  const layers = [...root.querySelectorAll("canvas")].filter((one) => one.width > 0 && one.height > 0);
  const [first] = layers;
  if (!first) throw new Error("This view has no drawing.");
  const frame = first.getBoundingClientRect();
  const scale = first.width / Math.max(1, frame.width);
  return canvasOf(first.width, first.height, (context) => {
    for (const layer of layers) {
      const at = layer.getBoundingClientRect();
      context.drawImage(layer, (at.x - frame.x) * scale, (at.y - frame.y) * scale, at.width * scale, at.height * scale);
    }
  });
}

async function canvasOf(
  width: number,
  height: number,
  draw: (context: CanvasRenderingContext2D) => void,
): Promise<Blob> {
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width);
  canvas.height = Math.ceil(height);
  const context = canvas.getContext("2d");
  if (!context) throw new Error("This browser cannot draw pictures.");
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  draw(context);
  const blob = await new Promise<Blob | null>((resolve) => {
    canvas.toBlob(resolve, "image/png");
  });
  if (!blob) throw new Error("The picture is too large.");
  return blob;
}

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => {
    URL.revokeObjectURL(link.href);
  }, 10_000);
}
