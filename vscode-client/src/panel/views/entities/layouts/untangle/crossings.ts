/**
 * Members of a group on grid positions, and the cost of the lines: lines with too many crossings, and lines that pass over a member.
 *
 * Invariant: `cost` equals the cost computed from scratch, after any sequence of moves and undone moves.
 */
import { CROSSED_BELOW } from "../clarity";
import type { Spot } from "../types";
import type { Link } from "../groups";

/** A line crossed once too often; a line over a member; a line crossed at all; one that is as long as the picture is wide. */
const [OFTEN, OVER, ONCE, LONG] = [4, 6, 0.35, 0.5];
/** Beyond what is too often by so much a line is lost, and should not spoil others. */
const LOST = 6;

export class Crossings {
  cost = 0;
  readonly x: Float64Array;
  readonly y: Float64Array;
  private readonly a: Int32Array;
  private readonly b: Int32Array;
  private readonly of: number[][];
  private readonly crossed: Int32Array;
  /** By pair of lines, the larger one first. */
  private readonly crosses: Uint8Array;
  /** Of the last move: pairs that cross now or no more, whom it moved from where, and the cost before. */
  private readonly changed: number[] = [];
  private moved: { members: readonly number[]; from: Spot[]; cost: number } = { members: [], from: [], cost: 0 };
  private readonly touched: Uint8Array;

  constructor(
    spots: readonly Spot[],
    links: readonly Link[],
    /** How near to a member a line passes over it. */
    private readonly near: number,
    private readonly wide: number,
  ) {
    this.x = Float64Array.from(spots, (spot) => spot.x);
    this.y = Float64Array.from(spots, (spot) => spot.y);
    this.a = Int32Array.from(links, (link) => link.a);
    this.b = Int32Array.from(links, (link) => link.b);
    this.of = spots.map(() => []);
    links.forEach(({ a, b }, index) => {
      this.of[a]?.push(index);
      this.of[b]?.push(index);
    });
    this.crossed = new Int32Array(links.length);
    this.crosses = new Uint8Array(links.length * links.length);
    this.touched = new Uint8Array(links.length);
    for (let line = 0; line < links.length; line++) {
      this.compare(line, line);
      this.cost += this.length(line) + this.passes(line);
    }
  }

  /** Puts some members elsewhere, each to its own spot. */
  move(members: readonly number[], to: readonly Spot[]): void {
    const lines = [...new Set(members.flatMap((member) => this.of[member] ?? []))];
    this.changed.length = 0;
    this.moved = { members, from: members.map((member) => this.at(member)), cost: this.cost };
    for (const line of lines) this.touched[line] = 1;
    this.cost -= this.local(members, lines);
    this.put(members, to);
    for (const line of lines) {
      // Of two that both moved once.
      this.compare(line, this.a.length);
      this.touched[line] = 2;
    }
    for (const line of lines) this.touched[line] = 1;
    this.cost += this.local(members, lines);
    for (const line of lines) this.touched[line] = 0;
  }

  /** Takes the last move back. */
  undo(): void {
    this.put(this.moved.members, this.moved.from);
    for (const key of this.changed) {
      const now = 1 - (this.crosses[key] ?? 0);
      this.crosses[key] = now;
      for (const line of [Math.floor(key / this.a.length), key % this.a.length]) {
        this.crossed[line] = (this.crossed[line] ?? 0) + 2 * now - 1;
      }
    }
    this.cost = this.moved.cost;
  }

  at(member: number): Spot {
    return { x: this.x[member] ?? 0, y: this.y[member] ?? 0 };
  }

  private put(members: readonly number[], to: readonly Spot[]): void {
    for (let index = 0; index < members.length; index++) {
      const [member, spot] = [members[index] ?? 0, to[index]];
      if (spot) [this.x[member], this.y[member]] = [spot.x, spot.y];
    }
  }

  /** What lengths, and passing over, cost of some lines, and over some members of all. */
  private local(members: readonly number[], lines: readonly number[]): number {
    let sum = 0;
    for (const line of lines) sum += this.length(line) + this.passes(line);
    for (const member of members) {
      for (let line = 0; line < this.a.length; line++) if (!this.touched[line] && this.over(line, member)) sum += OVER;
    }
    return sum;
  }

  /** Notes which lines below `end` cross this one. */
  private compare(line: number, end: number): void {
    const { a, b, x, y } = this;
    const [from, to, many] = [a[line] ?? 0, b[line] ?? 0, a.length];
    const ax = x[from] ?? 0;
    const ay = y[from] ?? 0;
    const bx = x[to] ?? 0;
    const by = y[to] ?? 0;
    for (let other = 0; other < end; other++) {
      const c = a[other] ?? 0;
      const d = b[other] ?? 0;
      if (this.touched[other] === 2 || from === c || from === d || to === c || to === d) continue;
      const cx = x[c] ?? 0;
      const cy = y[c] ?? 0;
      const dx = x[d] ?? 0;
      const dy = y[d] ?? 0;
      const parts =
        ((bx - ax) * (cy - ay) - (by - ay) * (cx - ax)) * ((bx - ax) * (dy - ay) - (by - ay) * (dx - ax)) <= 0;
      const now =
        parts && ((dx - cx) * (ay - cy) - (dy - cy) * (ax - cx)) * ((dx - cx) * (by - cy) - (dy - cy) * (bx - cx)) <= 0
          ? 1
          : 0;
      const key = line > other ? line * many + other : other * many + line;
      if (now === this.crosses[key]) continue;
      this.crosses[key] = now;
      this.changed.push(key);
      this.count(line, 2 * now - 1);
      this.count(other, 2 * now - 1);
    }
  }

  private count(line: number, by: number): void {
    const count = this.crossed[line] ?? 0;
    this.crossed[line] = count + by;
    this.cost += price(count + by) - price(count);
  }

  private passes(line: number): number {
    let sum = 0;
    for (let member = 0; member < this.x.length; member++) if (this.over(line, member)) sum += OVER;
    return sum;
  }

  private over(line: number, member: number): boolean {
    const from = this.a[line] ?? 0;
    const to = this.b[line] ?? 0;
    if (from === member || to === member) return false;
    const fx = this.x[from] ?? 0;
    const fy = this.y[from] ?? 0;
    const dx = (this.x[to] ?? 0) - fx;
    const dy = (this.y[to] ?? 0) - fy;
    const px = (this.x[member] ?? 0) - fx;
    const py = (this.y[member] ?? 0) - fy;
    const along = px * dx + py * dy;
    const squared = dx * dx + dy * dy;
    if (along < 0 || along > squared) return false; // no two spots are so near
    const across = px * dy - py * dx;
    return across * across < this.near * this.near * squared;
  }

  private length(line: number): number {
    const dx = (this.x[this.a[line] ?? 0] ?? 0) - (this.x[this.b[line] ?? 0] ?? 0);
    const dy = (this.y[this.a[line] ?? 0] ?? 0) - (this.y[this.b[line] ?? 0] ?? 0);
    return (LONG * Math.sqrt(dx * dx + dy * dy)) / this.wide;
  }
}

function price(count: number): number {
  return ONCE * count + OFTEN * Math.min(LOST, Math.max(0, count - CROSSED_BELOW + 1));
}
