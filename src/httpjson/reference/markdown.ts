// Pieces of Markdown. Text from comments is Markdown already.

/** A table; nothing when it has no rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line), ""];
}

/** A list; nothing without items. */
export function list(items: readonly string[]): string[] {
  if (items.length === 0) return [];
  return [...items.map((item) => `- ${item.replaceAll(/\n+/g, " ")}`), ""];
}

/** A term with its meaning, if it has one. */
export function defined(term: string, meaning: string): string {
  return meaning === "" ? term : `${term}: ${meaning}`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll(/\n+/g, " ");
}

/** A link within a page or between pages, by GitHub's way of making anchors of headings. */
export function link(text: string, page: string, heading: string): string {
  return `[${text}](${page}#${anchor(heading)})`;
}

function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, "")
    .replaceAll(/\s/g, "-");
}

export function page(lines: readonly string[]): string {
  return `${lines
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trimEnd()}\n`;
}
