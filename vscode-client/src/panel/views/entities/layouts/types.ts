/** Input and output of entity layouts. Lengths in px; the middle of the picture is (0, 0). Lines are straight from centre to centre. */

export interface Entity {
  id: number;
  /** -1 outside of any; one that is not among the entities counts as that, too. */
  container: number;
}

export interface Talk {
  source: number;
  target: number;
  count: number;
}

export interface EntityInput {
  /** In the order in which they came up. */
  entities: readonly Entity[];
  talks: readonly Talk[];
  /** Of the whole picture. */
  radius: number;
}

export interface Place {
  id: number;
  x: number;
  y: number;
  /** Of an entity's circle; half a container's side. */
  radius: number;
}

export type Arrange = (input: EntityInput) => Place[];

export interface Spot {
  x: number;
  y: number;
}
