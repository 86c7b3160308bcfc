/** A calendar month in UTC, such as `2026-05`. */
export type Month = string;

const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;

/** Returns the month that a text such as `2026-05` names; undefined for any other text. */
export function parseMonth(text: string): Month | undefined {
  return MONTH.test(text) ? text : undefined;
}

/** Milliseconds at which the month begins and ends. */
export function boundsOfMonth(month: Month): { readonly start: number; readonly end: number } {
  const [year = 0, number = 0] = month.split("-").map(Number);
  return { start: Date.UTC(year, number - 1), end: Date.UTC(year, number) };
}

/** Whether the month ended at least that many months ago. */
export function endedMonthsAgo(month: Month, months: number, now: number): boolean {
  const [year = 0, number = 0] = month.split("-").map(Number);
  return Date.UTC(year, number + months) <= now;
}
