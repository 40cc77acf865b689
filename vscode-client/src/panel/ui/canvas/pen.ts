/** The drawing interface of pictures: the context of a canvas, or a writer of SVG. */

/** What a canvas' context has that a file of SVG can have, too. */
export type Pen = Pick<
  CanvasRenderingContext2D,
  | "arc"
  | "beginPath"
  | "closePath"
  | "fill"
  | "fillRect"
  | "fillStyle"
  | "fillText"
  | "font"
  | "globalAlpha"
  | "lineCap"
  | "lineJoin"
  | "lineTo"
  | "lineWidth"
  | "measureText"
  | "moveTo"
  | "quadraticCurveTo"
  | "roundRect"
  | "setLineDash"
  | "stroke"
  | "strokeStyle"
  | "strokeText"
  | "textAlign"
  | "textBaseline"
>;

/** A timeline's: cut to a part of it, moved, with bars that are made elsewhere. */
export type TimelinePen = Pen &
  Pick<
    CanvasRenderingContext2D,
    | "bezierCurveTo"
    | "clip"
    | "drawImage"
    | "imageSmoothingEnabled"
    | "rect"
    | "restore"
    | "save"
    | "strokeRect"
    | "translate"
  >;
