import { useState } from "react";
import { Button } from "./button.tsx";
import { classes } from "./classes.ts";
import { CopyButton } from "./copy-button.tsx";

/** Longest text that `bounded` shows whole, lines. */
const MAX_LINES = 24;

interface CodeProps {
  text: string;
  label: string;
  wrap?: boolean;
  bounded?: boolean;
}

/** A code block with a copy button. `wrap`: no horizontal scrolling. `bounded`: long text scrolls. */
export function Code({ text, label, wrap = false, bounded = false }: CodeProps) {
  const [whole, setWhole] = useState(false);
  const isLong = bounded && text.split("\n", MAX_LINES + 2).length > MAX_LINES;
  return (
    <div className="code">
      {/* A scrollable region must be focusable. */}
      <pre
        className={classes(wrap && "wrap", isLong && !whole && "is-bounded") || undefined}
        tabIndex={0}
        aria-label={label}
        role="region"
      >
        {text}
      </pre>
      <CopyButton text={text} label={label} />
      {isLong && (
        <Button small tone="quiet" onClick={() => setWhole(!whole)}>
          {whole ? "Show less" : "Show all"}
        </Button>
      )}
    </div>
  );
}
