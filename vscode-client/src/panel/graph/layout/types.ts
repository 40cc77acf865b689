/** Input and output of a layout: plain data that can be sent to a worker. Lengths in px; (x, y) is the centre of a node. */

export type Flow = "down" | "right";

export interface LayoutNode {
  id: string;
  width: number;
  height: number;
}

export interface Link {
  id: string;
  source: string;
  target: string;
  /** How much to keep it straight and short: 1 for most, more for what the eye is to follow. */
  weight: number;
}

export interface LayoutInput {
  nodes: LayoutNode[];
  links: Link[];
  flow: Flow;
  /** Between layers, room for the edges' labels included. */
  layerGap: number;
  /** Between neighbours of a layer. */
  nodeGap: number;
}

export interface PlacedNode extends LayoutNode {
  x: number;
  y: number;
}

export type Point = [x: number, y: number];

export interface Route {
  id: string;
  /** From the source's border to the target's. */
  points: Point[];
  /** One cubic piece of four points: from a node to itself, or around what is between its ends. */
  bends?: true;
}

export interface Layout {
  nodes: PlacedNode[];
  routes: Route[];
  width: number;
  height: number;
  flow: Flow;
}
