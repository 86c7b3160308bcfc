import { useQuery } from "@connectrpc/connect-query";
import { useId, useState, type KeyboardEvent } from "react";
import { useLocation } from "wouter";
import { HistoryService, RecordKind, type FoundRecord } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { useSignedIn } from "./session.tsx";
import { Button, Dialog, Field, Icon, Input, Time } from "./ui/index.ts";
import { useSettled } from "./ui/use-settled.ts";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { truncateMiddle } from "./format.ts";
import { useKeys } from "./pages/keys/use-keys.ts";
import { NAV_ITEMS, OPERATOR_NAV_ITEMS } from "./routes.ts";
import { useCatalogue } from "./rpc.ts";
import type { IconName } from "./ui/icon.tsx";

/** Most names that are shown. */
const MAX_NAMED = 20;

/** Waits for a pause in typing, ms. */
const PAUSE_MS = 250;

/** Opens a page, an action, a tool or a key by its name, or a record by its id (WAI-ARIA combobox). */
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
  const named = useNamed(session.operator);
  const entries = findEntries(text, (isSettled && id !== "" && data?.records) || [], named, session.operator);
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
      <Field
        label="Page or identifier"
        hint="Page, action, tool, key, request, run, receipt, quote, deposit or transaction"
      >
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

interface ResultsProps {
  listId: string;
  entries: readonly FinderEntry[];
  selected: number;
  onOpen: (href: string) => void;
}

function Results({ listId, entries, selected, onOpen }: ResultsProps) {
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

interface FinderEntry {
  readonly href: string;
  readonly icon: IconName;
  readonly label: string;
  readonly detail: string;
  readonly at?: Date;
}

/** The shortest text that may be an identifier: shorter text names pages only. */
const MIN_ID_LENGTH = 6;

/** Characters of an API key that are shown: the rest must not be sent. */
const SHOWN_KEY = 14;

/** Returns the identifier to look up; empty for text that names none. */
function lookedUp(text: string): string {
  const id = text.trim();
  if (id.length < MIN_ID_LENGTH || !/\d/.test(id) || /\s/.test(id)) return "";
  return id.startsWith("sk-agent-") ? id.slice(0, SHOWN_KEY) : id;
}

const entry = (detail: string, href: string, icon: IconName, label: string): FinderEntry => ({
  href,
  icon,
  label,
  detail,
});

const ACTIONS = [
  entry("Action", "/keys?create", "key", "Create key"),
  entry("Action", "/webhooks?create", "bell", "Add webhook endpoint"),
  entry("Action", "/activity?tab=statement", "list", "Show statement"),
  entry("Action", "/activity?tab=requests&status=refused", "list", "Show refused requests"),
];

/** Returns what can be found by its name: pages, actions, tools and keys. */
function useNamed(isOperator: boolean): readonly FinderEntry[] {
  const tools = useCatalogue().data?.tools ?? [];
  const keys = useKeys().data?.keys ?? [];
  return [
    ...[...NAV_ITEMS, ...(isOperator ? OPERATOR_NAV_ITEMS : [])].map(({ href, icon, label }) =>
      entry("Page", href, icon, label),
    ),
    ...ACTIONS,
    ...tools.map(({ name }) => entry("Tool", `/tools/${name}`, "tools", name)),
    ...keys.flatMap(({ key }) =>
      key
        ? entry(
            "Activity",
            `/activity?key=${key.keyId}`,
            "key",
            `${key.name} ${key.client ? "app" : `${key.prefix}…`}`,
          )
        : [],
    ),
  ];
}

/** Returns what has the text in its name, and the records; operators can search all accounts. */
function findEntries(
  text: string,
  records: readonly FoundRecord[],
  named: readonly FinderEntry[],
  isOperator: boolean,
): readonly FinderEntry[] {
  const wanted = text.trim().toLowerCase();
  const pages = named.filter(({ label }) => label.toLowerCase().includes(wanted)).slice(0, MAX_NAMED);
  const found = records.flatMap(entryOf).filter(({ href }) => pages.every((page) => page.href !== href));
  const id = lookedUp(text);
  const everywhere = {
    href: `/operator?id=${encodeURIComponent(id)}`,
    icon: "gauge",
    label: "Search all accounts",
    detail: "Operations",
  } as const;
  return [...pages, ...found, ...(isOperator && id !== "" ? [everywhere] : [])];
}

function entryOf({ kind, id, title, createdAt }: FoundRecord): FinderEntry[] {
  const label = truncateMiddle(id, 8, 6);
  const at = createdAt && { at: timestampDate(createdAt) };
  switch (kind) {
    case RecordKind.RUN:
      return [{ href: `/runs/${id}`, icon: "play", label, detail: `Run of ${title}`, ...at }];
    case RecordKind.RECEIPT:
      return [{ href: `/receipts/${id}`, icon: "list", label, detail: `Receipt for ${title}`, ...at }];
    case RecordKind.DEPOSIT:
      return [{ href: `/deposit/${id}`, icon: "deposit", label, detail: "Deposit", ...at }];
    case RecordKind.REQUEST:
      return [{ href: `/activity/requests/${id}`, icon: "log", label, detail: `Request to ${title}`, ...at }];
    case RecordKind.KEY:
      return [
        { href: `/activity?key=${id}`, icon: "key", label: title, detail: "Activity of the key", ...at },
      ];
    default:
      return [];
  }
}
