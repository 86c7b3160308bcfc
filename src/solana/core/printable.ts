/** Characters that change how a terminal or page shows the text around them. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Makes untrusted text safe to display: replaces control characters with U+FFFD. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, "\u{fffd}");
}
