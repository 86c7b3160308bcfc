import { useQuery } from "@connectrpc/connect-query";
import { useId, useState, type KeyboardEvent } from "react";
import { useLocation } from "wouter";
import { HistoryService } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { findEntries, lookedUp, type FinderEntry } from "./finder-entries.ts";
import { useSignedIn } from "./session.tsx";
import { Button, Dialog, Field, Icon, Input, Time } from "./ui/index.ts";
import { useSettled } from "./ui/use-settled.ts";

/** Waits for a pause in typing, ms. */
const PAUSE_MS = 250;

/** Opens a page by its name, or a record of the account by its id (WAI-ARIA combobox). */
export function Finder({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} title="Find" onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      <FinderBox onClose={onClose} />
    </Dialog>
  );
}

function FinderBox({ onClose }: { onClose: () => void }) {
  const listId = useId();
  const [, navigate] = useLocation();
  const { session } = useSignedIn();
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(0);
  const id = useSettled(lookedUp(text), PAUSE_MS);
  const isSettled = id === lookedUp(text);
  const { data, isFetching, error } = useQuery(
    HistoryService.method.findRecords,
    { id },
    { enabled: id !== "", retry: false },
  );
  const isLooking = !isSettled || isFetching;
  const entries = findEntries(text, (isSettled && id !== "" && data?.records) || [], session.operator);
  const at = Math.min(selected, entries.length - 1);
  const open = (href: string) => {
    onClose();
    navigate(href);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && entries.length > 0) {
      event.preventDefault();
      setSelected((at + step + entries.length) % entries.length);
    }
    const entry = entries[at];
    if (event.key === "Enter" && entry && !isLooking) {
      event.preventDefault();
      open(entry.href);
    }
  };
  return (
    <div className="stack">
      <Field label="Page or identifier" hint="Request, run, receipt, quote, deposit, transaction or key">
        {(control) => (
          <Input
            {...control}
            // A search field would use Escape to clear itself first.
            type="text"
            role="combobox"
            aria-expanded={entries.length > 0}
            aria-controls={listId}
            aria-activedescendant={at >= 0 ? `${listId}-${at}` : undefined}
            aria-autocomplete="list"
            maxLength={200}
            value={text}
            onChange={({ target }) => {
              setText(target.value);
              setSelected(0);
            }}
            onKeyDown={onKeyDown}
          />
        )}
      </Field>
      <Results listId={listId} entries={entries} selected={at} onOpen={open} />
      <p className="hint" role="status">
        {statusOf({ isLooking, failed: error !== null, found: entries.length })}
      </p>
    </div>
  );
}

function Results({
  listId,
  entries,
  selected,
  onOpen,
}: {
  listId: string;
  entries: readonly FinderEntry[];
  selected: number;
  onOpen: (href: string) => void;
}) {
  return (
    <div role="listbox" id={listId} aria-label="Results" className="finder-list">
      {entries.map(({ href, icon, label, detail, at }, index) => (
        <div
          key={href}
          role="option"
          id={`${listId}-${index}`}
          tabIndex={-1}
          aria-selected={index === selected}
          className="finder-entry"
          onClick={() => onOpen(href)}
          // A click moves the focus here.
          onKeyDown={({ key }) => key === "Enter" && onOpen(href)}
        >
          <Icon name={icon} />
          <span className="finder-label">{label}</span>
          <span className="faint">
            {detail} {at && <Time at={at} relative />}
          </span>
        </div>
      ))}
    </div>
  );
}

function statusOf({ isLooking, failed, found }: { isLooking: boolean; failed: boolean; found: number }) {
  if (isLooking) return "Searching…";
  if (failed) return "The search failed. Try again.";
  return found === 0 ? "Nothing found in your account." : "";
}
