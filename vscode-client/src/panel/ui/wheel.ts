/** Converts wheel events to movement and zoom. */

/** Per px; a notch of most mice is 100 to 120. */
const CLOSER = 0.0016;
/** Of a line that a wheel turns, in px, where it does not count in px. */
const LINE = 18;

/** In px, whatever the browser counts in. */
export function wheelPixels(event: WheelEvent): { x: number; y: number } {
  const unit = event.deltaMode === event.DOM_DELTA_PIXEL ? 1 : LINE;
  return { x: event.deltaX * unit, y: event.deltaY * unit };
}

/** How many times closer one sees after it; below 1 farther. */
export function zoomFactor(event: WheelEvent): number {
  return Math.exp(-wheelPixels(event).y * CLOSER);
}
