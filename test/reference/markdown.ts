/** Replaces the text between `<!-- name -->` and `<!-- /name -->`. Throws if a page lacks the markers. */
export function withPart(page: string, name: string, text: string): string {
  const [start, end] = [`<!-- ${name} -->\n\n`, `<!-- /${name} -->`];
  const [before, after] = [page.indexOf(start), page.indexOf(end)];
  if (before < 0 || after < before) throw new Error(`The page has no ${start.trim()} … ${end}.`);
  return `${page.slice(0, before)}${start}${text}${page.slice(after)}`;
}

/** A table that ends with an empty line. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((cells) => `| ${cells.join(" | ")} |\n`);
  return `${lines[0]}|${head.map(() => "---|").join("")}\n${lines.slice(1).join("")}\n`;
}

/** A list that ends with an empty line, in lines of at most 110 characters. */
export function list(items: readonly string[]): string {
  return `${items.map(wrapped).join("\n")}\n\n`;
}

function wrapped(item: string): string {
  const lines = ["-"];
  for (const word of item.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`;
    if (longer.length > 110) lines.push(`  ${word}`);
    else lines[lines.length - 1] = longer;
  }
  return lines.join("\n");
}
