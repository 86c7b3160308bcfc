import type { ComponentProps, ReactNode } from "react";
import { Link } from "wouter";
import { classes } from "./classes.ts";
import { Icon, type IconName } from "./icon.tsx";

/** How much a button stands out: one `primary` in a view, `danger` where something ends. */
type Tone = "primary" | "plain" | "quiet" | "danger";

interface Look {
  tone?: Tone;
  /** Lower, for use in rows of a table. */
  small?: boolean;
  icon?: IconName;
}

/** A button. While `busy` it cannot be pressed, keeps its width and says so to screen readers. */
export function Button({
  tone = "plain",
  small,
  icon,
  busy = false,
  className,
  children,
  ...rest
}: ComponentProps<"button"> & Look & { busy?: boolean }) {
  return (
    <button
      type="button"
      aria-busy={busy || undefined}
      {...rest}
      disabled={busy || rest.disabled}
      className={classes("button", `button-${tone}`, small && "button-small", busy && "is-busy", className)}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A link to a page of the console (`href` below /console) that looks like a button. */
export function ButtonLink({
  tone = "plain",
  small,
  icon,
  href,
  children,
}: Look & { href: string; children: ReactNode }) {
  return (
    <Link href={href} className={classes("button", `button-${tone}`, small && "button-small")}>
      {icon && <Icon name={icon} />}
      {children}
    </Link>
  );
}

/** A link to somewhere else, in a tab of its own. */
export function ExternalLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <a href={href} target="_blank" rel="noreferrer noopener" className="external">
      {children}
      <Icon name="external" />
      <span className="hidden"> (opens in a new tab)</span>
    </a>
  );
}
