/**
 * The areas of containers: a circle around the middle of each container's contents. Foreign entities are pushed out, and two circles
 * that are not nested repel each other as a whole.
 *
 * Forces start at zero at the edge, so that the system can come to rest. Invariant: every push has an equal opposite push.
 */

/** Of the distance by which one reaches into another's room. */
const STRENGTH = 0.25;
/** Of how far members are from their middle on average, the circle's radius: of a disk 1.4, of a row 1.7. */
const ROUND = 1.55;

interface Room {
  members: readonly number[];
  /** By particle whether it is one of them. */
  holds: Uint8Array;
  x: number;
  y: number;
  radius: number;
}

export class ContainerAreas {
  private readonly rooms: Room[];
  /** For areas without a common member. */
  private readonly neighbours: (readonly [Room, Room])[];

  /** `held`: by container all particles in it, at any depth. `near`: how far apart two particles stand. */
  constructor(
    held: readonly (readonly number[])[],
    private readonly count: number,
    private readonly near: number,
  ) {
    this.rooms = held.map((members) => {
      const holds = new Uint8Array(count);
      for (const i of members) holds[i] = 1;
      return { members, holds, x: 0, y: 0, radius: 0 };
    });
    this.neighbours = this.rooms.flatMap((one, index) =>
      this.rooms
        .slice(index + 1)
        .filter((other) => !one.holds[other.members[0] ?? 0] && !other.holds[one.members[0] ?? 0])
        .map((other) => [one, other] as const),
    );
  }

  /** Adds to `fx` and `fy`. */
  push(x: Float64Array, y: Float64Array, fx: Float64Array, fy: Float64Array): void {
    for (const room of this.rooms) this.measure(room, x, y);
    for (const [one, other] of this.neighbours) {
      const [dx, dy] = [other.x - one.x, other.y - one.y];
      const far = Math.hypot(dx, dy) || 1e-9;
      const inside = one.radius + other.radius + this.near - far;
      if (inside <= 0) continue;
      const [mine, its] = [one.members.length, other.members.length];
      const force = (STRENGTH * inside * mine * its) / (mine + its) / far;
      move(one, -force * dx, -force * dy, fx, fy);
      move(other, force * dx, force * dy, fx, fy);
    }
    for (const room of this.rooms) this.clear(room, x, y, fx, fy);
  }

  /** Pushes out foreign entities. */
  private clear(room: Room, x: Float64Array, y: Float64Array, fx: Float64Array, fy: Float64Array): void {
    const edge = room.radius + this.near / 2;
    let [backX, backY] = [0, 0];
    for (let i = 0; i < this.count; i++) {
      const dx = (x[i] ?? 0) - room.x;
      const dy = (y[i] ?? 0) - room.y;
      const squared = dx * dx + dy * dy;
      if (squared >= edge * edge || room.holds[i]) continue;
      const far = Math.sqrt(squared) || 1e-9;
      const force = (STRENGTH * (edge - far)) / far;
      fx[i] = (fx[i] ?? 0) + force * dx;
      fy[i] = (fy[i] ?? 0) + force * dy;
      backX -= force * dx;
      backY -= force * dy;
    }
    move(room, backX, backY, fx, fy);
  }

  /** No larger than what is in it needs, though one may be on its way from afar. */
  private measure(room: Room, x: Float64Array, y: Float64Array): void {
    const { members } = room;
    let [sumX, sumY, squares] = [0, 0, 0];
    for (const i of members) {
      sumX += x[i] ?? 0;
      sumY += y[i] ?? 0;
    }
    room.x = sumX / members.length;
    room.y = sumY / members.length;
    for (const i of members) squares += ((x[i] ?? 0) - room.x) ** 2 + ((y[i] ?? 0) - room.y) ** 2;
    const most = this.near * Math.sqrt(members.length);
    room.radius = Math.min(most, ROUND * Math.sqrt(squares / members.length));
  }
}

/** As a whole. */
function move(room: Room, x: number, y: number, fx: Float64Array, fy: Float64Array): void {
  const { members } = room;
  for (const i of members) {
    fx[i] = (fx[i] ?? 0) + x / members.length;
    fy[i] = (fy[i] ?? 0) + y / members.length;
  }
}
