/** When the sun is up on a day at a place. */
export interface SunDay {
  readonly date: string;
  /** ISO 8601, UTC, whole minutes; null where the sun does not rise, or set, that day. */
  readonly sunrise: string | null;
  readonly sunset: string | null;
  readonly day_minutes: number;
}

const DAY_MS = 86_400_000;

/** Altitude of the sun's centre at sunrise, degrees: half its width below the horizon, and refraction. */
const RISING = -0.833;

/** Sunrise and sunset by the solar position calculations of NOAA's GML, to about two minutes. */
export function sunDay(midnight: number, latitude: number, longitude: number): SunDay {
  const date = new Date(midnight).toISOString().slice(0, 10);
  const firstOfYear = Date.UTC(new Date(midnight).getUTCFullYear(), 0, 1);
  // The fraction of the year at noon, in radians.
  const year = ((2 * Math.PI) / 365) * ((midnight - firstOfYear) / DAY_MS + 0.5 - longitude / 360);
  const equationOfTime =
    229.18 *
    (0.000075 +
      0.001868 * Math.cos(year) -
      0.032077 * Math.sin(year) -
      0.014615 * Math.cos(2 * year) -
      0.040849 * Math.sin(2 * year));
  const declination =
    0.006918 -
    0.399912 * Math.cos(year) +
    0.070257 * Math.sin(year) -
    0.006758 * Math.cos(2 * year) +
    0.000907 * Math.sin(2 * year) -
    0.002697 * Math.cos(3 * year) +
    0.00148 * Math.sin(3 * year);
  const north = radians(latitude);
  const cosine =
    Math.sin(radians(RISING)) / (Math.cos(north) * Math.cos(declination)) -
    Math.tan(north) * Math.tan(declination);
  if (cosine > 1) return { date, sunrise: null, sunset: null, day_minutes: 0 };
  if (cosine < -1) return { date, sunrise: null, sunset: null, day_minutes: 1_440 };
  const half = (Math.acos(cosine) * 180) / Math.PI;
  const noon = 720 - 4 * longitude - equationOfTime;
  const at = (minutes: number) =>
    `${new Date(midnight + Math.round(minutes) * 60_000).toISOString().slice(0, 16)}Z`;
  return {
    date,
    sunrise: at(noon - 4 * half),
    sunset: at(noon + 4 * half),
    day_minutes: Math.round(8 * half),
  };
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}
