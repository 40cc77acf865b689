/** Matches a search text, the same way in all tables and graphs: each word must occur in the text, in any case. */
export function matcher(searched: string): (text: string) => boolean {
  const words = searched.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => {
    const hay = text.toLowerCase();
    return words.every((word) => hay.includes(word));
  };
}
