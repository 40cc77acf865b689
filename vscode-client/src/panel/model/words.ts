/** What stands in the search box, as all tables and graphs understand it: each of its words anywhere in a text, in any case. */
export function matcher(searched: string): (text: string) => boolean {
  const words = searched.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => {
    const hay = text.toLowerCase();
    return words.every((word) => hay.includes(word));
  };
}
