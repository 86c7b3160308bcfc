/**
 * The records of a file (RFC 4180), each by the names in the first one. Strict: refuses everything outside
 * of the standard.
 */
export function parseCsv(text: string): Record<string, string>[] {
  if (!text.startsWith("\uFEFF")) throw new Error("no byte order mark");
  const [header = [], ...records] = recordsOf(text.slice(1));
  return records.map((record) => {
    if (record.length !== header.length)
      throw new Error(`${record.length} cells instead of ${header.length}`);
    return Object.fromEntries(header.map((name, at) => [name, record[at] ?? ""]));
  });
}

function recordsOf(text: string): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  for (let at = 0; at < text.length;) {
    let cell = "";
    if (text[at] === '"') {
      for (at++; ; at++) {
        if (at >= text.length) throw new Error("a quote is not closed");
        if (text[at] === '"' && text[++at] !== '"') break;
        cell += text[at];
      }
    } else {
      while (at < text.length && !',"\r\n'.includes(text[at] ?? "")) cell += text[at++];
    }
    record.push(cell);
    if (text[at] === ",") {
      at++;
    } else if (text.startsWith("\r\n", at)) {
      at += 2;
      records.push(record);
      record = [];
    } else {
      throw new Error(
        `what follows a cell is neither a comma nor the end of a line: ${text.slice(at, at + 20)}`,
      );
    }
  }
  if (record.length > 0) throw new Error("the last line has no end");
  return records;
}
