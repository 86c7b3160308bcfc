import { timestampDate } from "@bufbuild/protobuf/wkt";
import { RecordKind, type FoundRecord } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { truncateMiddle } from "./format.ts";
import { NAV_ITEMS, OPERATOR_NAV_ITEMS } from "./routes.ts";
import type { IconName } from "./ui/icon.tsx";

/** Something that the finder opens. */
export interface FinderEntry {
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
export function lookedUp(text: string): string {
  const id = text.trim();
  if (id.length < MIN_ID_LENGTH || !/\d/.test(id) || /\s/.test(id)) return "";
  return id.startsWith("sk-agent-") ? id.slice(0, SHOWN_KEY) : id;
}

/** Returns the pages whose name contains the text, and the records; operators can search all accounts. */
export function findEntries(
  text: string,
  records: readonly FoundRecord[],
  isOperator: boolean,
): readonly FinderEntry[] {
  const wanted = text.trim().toLowerCase();
  const pages = (isOperator ? [...NAV_ITEMS, ...OPERATOR_NAV_ITEMS] : NAV_ITEMS)
    .filter(({ label }) => label.toLowerCase().includes(wanted))
    .map(({ href, icon, label }) => ({ href, icon, label, detail: "Page" }));
  const id = lookedUp(text);
  const everywhere = {
    href: `/operator?id=${encodeURIComponent(id)}`,
    icon: "gauge",
    label: "Search all accounts",
    detail: "Operations",
  } as const;
  return [...pages, ...records.flatMap(entryOf), ...(isOperator && id !== "" ? [everywhere] : [])];
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
