/** What a layout takes and gives: plain data, so that it crosses to a worker. Lengths in px; (x, y) is a box's centre. */

export type Flow = "down" | "right";

export interface Box {
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
  boxes: Box[];
  links: Link[];
  flow: Flow;
  /** Between layers, room for the edges' labels included. */
  layerGap: number;
  /** Between neighbours of a layer. */
  boxGap: number;
}

export interface PlacedBox extends Box {
  x: number;
  y: number;
}

export type Point = [x: number, y: number];

export interface Route {
  id: string;
  /** From the source's border to the target's. */
  points: Point[];
  /** One cubic piece of four points: from a box to itself, or around what is between its ends. */
  bends?: true;
}

export interface Layout {
  boxes: PlacedBox[];
  routes: Route[];
  width: number;
  height: number;
  flow: Flow;
}
