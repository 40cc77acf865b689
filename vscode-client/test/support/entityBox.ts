/** The box of an entity in an answer of the server. */
import type { EntityBox } from "../../src/shared/protocol";

export function box(entity: number, container = -1, more: Partial<EntityBox> = {}): EntityBox {
  return {
    entity, container, name: `e${entity}`, kind: "", presence: "there", insideItself: false, holds: 0, hidden: 0, sent: 0, received: 0,
    ...more,
  }; // prettier-ignore
}
