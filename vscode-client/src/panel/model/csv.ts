/** Rows as CSV (RFC 4180): quoted where it must be, and nothing that a spreadsheet would take for a formula. */

export function csv(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

function cell(text: string): string {
  const plain = text.replace(/\s+/g, " ").trim();
  // A number with a sign is one; whatever else begins like a formula is a text.
  const safe = /^[=+@\t-]/.test(plain) && !/^[+-]?[\d.,]+\D*$/.test(plain) ? `'${plain}` : plain;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
