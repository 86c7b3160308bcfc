import { useEffect, useState } from "react";
import { truncateMiddle } from "../format.ts";
import { classes } from "./classes.ts";
import { Icon } from "./icon.tsx";
import { showToast } from "./toast.tsx";

/** Copies `text`. Without `children` it is an icon button; `label` names the content, e.g. "API key". */
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
      showToast("The browser blocked copying. Select the text and copy it manually.", "bad");
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

/** An identifier in monospace with a copy button. `short` shortens the display, not the copy. */
export function Copyable({ text, label, short = false }: { text: string; label: string; short?: boolean }) {
  return (
    <span className="copyable">
      <code title={text}>{short ? truncateMiddle(text) : text}</code>
      <CopyButton text={text} label={label} />
    </span>
  );
}
