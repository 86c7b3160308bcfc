/** Whether the page at this location is shown without the navigation: it answers one question of an app. */
export function isAlone(location: string): boolean {
  return /^\/(?:connect|approve)\//.test(location);
}
