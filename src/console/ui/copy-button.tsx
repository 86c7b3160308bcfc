import { useEffect, useState } from "react";
import { truncateMiddle } from "../format.ts";
import { classes } from "./classes.ts";
import { Icon } from "./icon.tsx";
import { showToast } from "./toast.tsx";

/** Copies `text`. `label` says what it is, e.g. "API key"; with `children` they are the button's face instead of the picture alone. */
export function CopyButton({ text, label, children }: { text: string; label: string; children?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 1_600);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      showToast(`${label} copied`, "quiet");
    } catch {
      showToast("The browser does not let the page copy: select the text and copy it yourself", "bad");
    }
  };
  return (
    <button
      type="button"
      className={classes(children === undefined ? "copy" : "button button-plain", copied && "is-done")}
      aria-label={children === undefined ? `Copy ${label}` : undefined}
      title={children === undefined ? `Copy ${label}` : undefined}
      onClick={() => void copy()}
    >
      <Icon name={copied ? "check" : "copy"} />
      {children}
    </button>
  );
}

/** An identifier, address or signature in a fixed-width face with a button that copies all of it. `short`: show its ends only. */
export function Copyable({ text, label, short = false }: { text: string; label: string; short?: boolean }) {
  return (
    <span className="copyable">
      <code title={text}>{short ? truncateMiddle(text) : text}</code>
      <CopyButton text={text} label={label} />
    </span>
  );
}
