/** Patterns for User-Agent headers. Order matters: Edge and Opera also claim to be Chrome. */
const BROWSERS: readonly [mark: RegExp, name: string][] = [
  [/Edg(?:e|A|iOS)?\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\/|FxiOS\//, "Firefox"],
  [/Chrome\/|CriOS\/|Chromium\//, "Chrome"],
  [/Safari\//, "Safari"],
];

const SYSTEMS: readonly [mark: RegExp, name: string][] = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/Linux|X11/, "Linux"],
];

/** Returns a short name for a User-Agent header, or its first 40 characters. */
export function browserOf(userAgent: string): string {
  const browser = BROWSERS.find(([mark]) => mark.test(userAgent))?.[1];
  const system = SYSTEMS.find(([mark]) => mark.test(userAgent))?.[1];
  if (browser === undefined) return userAgent === "" ? "Unknown browser" : userAgent.slice(0, 40);
  return system === undefined ? browser : `${browser} on ${system}`;
}
