/** Returns the page of a tool, or of a model of it. */
export function toolHref(tool: string, model?: string): string {
  const path = `/tools/${encodeURIComponent(tool)}`;
  // Names of models have slashes and dots, which the path of a page cannot have.
  return model === undefined ? path : `${path}?model=${encodeURIComponent(model)}`;
}
