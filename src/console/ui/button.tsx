import type { ComponentProps, ReactNode } from "react";
import { Link } from "wouter";
import { classes } from "./classes.ts";
import { Icon, type IconName } from "./icon.tsx";

/** Emphasis: one `primary` per view, `danger` for destructive actions. */
type Tone = "primary" | "plain" | "quiet" | "danger";

interface Look {
  tone?: Tone;
  small?: boolean;
  icon?: IconName;
}

/** A button. While `busy` it ignores clicks and submits no form; it keeps its width and the focus. */
export function Button({
  tone = "plain",
  small,
  icon,
  busy = false,
  className,
  children,
  onClick,
  ...rest
}: ComponentProps<"button"> & Look & { busy?: boolean }) {
  return (
    <button
      type="button"
      aria-busy={busy || undefined}
      // `disabled` would lose the focus.
      aria-disabled={busy || undefined}
      {...rest}
      // Enter in a form clicks its submit button too.
      onClick={busy ? (event) => event.preventDefault() : onClick}
      className={classes("button", `button-${tone}`, small && "button-small", busy && "is-busy", className)}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button of a row; its name for screen readers has `row`, so that it is unique. */
export function RowButton({
  label,
  row,
  ...rest
}: ComponentProps<"button"> & { label: string; row: string }) {
  return (
    <Button small tone="quiet" aria-label={`${label} ${row}`} {...rest}>
      {label}
    </Button>
  );
}

/** A link to a console page, styled as a button. `href` is below /console. */
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

export function ExternalLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <a href={href} target="_blank" rel="noreferrer noopener" className="external">
      {children}
      <Icon name="external" />
      <span className="hidden"> (opens in a new tab)</span>
    </a>
  );
}
