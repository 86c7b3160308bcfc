/** What would change how a terminal or a page shows the text around it. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A stranger's text as it can be shown anywhere: each character that would steer what shows it is U+FFFD. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, "\u{fffd}");
}
