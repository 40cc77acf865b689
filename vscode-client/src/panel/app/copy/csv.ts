/** Rows as CSV (RFC 4180): fields are quoted where needed, and a spreadsheet never reads a field as a formula. */

export function csv(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

function cell(text: string): string {
  const plain = text.replace(/\s+/g, " ").trim();
  // A number with a sign is one; whatever else begins like a formula is a text.
  const safe = /^[=+@\t-]/.test(plain) && !/^[+-]?[\d.,]+\D*$/.test(plain) ? `'${plain}` : plain;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
