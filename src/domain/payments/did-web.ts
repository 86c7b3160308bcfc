/** Where the document of {@link didWeb} is below the address. */
export function didDocumentPath(baseUrl: string | undefined, cell: number): string {
  if (cell > 0) return `/cells/${cell}/did.json`;
  return baseUrl === undefined || pathOf(baseUrl).length === 0 ? "/.well-known/did.json" : "/did.json";
}

/** Returns the identifier of a cell (did:web method, section 3.2). Cell 0: of the address itself. */
export function didWeb(baseUrl: string, cell: number): string {
  const parts = [new URL(baseUrl).host, ...pathOf(baseUrl), ...(cell > 0 ? ["cells", String(cell)] : [])];
  return `did:web:${parts.map(encodeURIComponent).join(":")}`;
}

function pathOf(baseUrl: string): string[] {
  return new URL(baseUrl).pathname.split("/").filter((part) => part !== "");
}
