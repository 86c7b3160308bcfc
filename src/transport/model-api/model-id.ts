/** Returns the id of a model in a path; undefined for text that is not percent-encoded. */
export function decodedId(id: string): string | undefined {
  try {
    return decodeURIComponent(id);
  } catch {
    return undefined;
  }
}
