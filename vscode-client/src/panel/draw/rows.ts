/** Rows of a table that are gone through with the arrow keys and chosen with Enter or a click. */

export interface RowKeys {
  click: () => void;
  keydown: (event: KeyboardEvent) => void;
}

export function rowKeys(choose: () => void): RowKeys {
  return {
    click: choose,
    keydown: (event: KeyboardEvent): void => {
      if (event.target !== event.currentTarget) return;
      if (event.key === "Enter") choose();
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        const row = event.currentTarget as HTMLElement;
        const to = event.key === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling;
        if (to instanceof HTMLElement) to.focus();
      } else return;
      event.preventDefault();
    },
  };
}
