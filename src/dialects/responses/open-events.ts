import { type JsonObject, objectsOf, textOf } from "../../domain/core/json.ts";
import {
  ARGUMENTS,
  INPUT,
  type Kind,
  REASONING,
  REFUSAL,
  type SendEvent,
  SUMMARY,
  TEXT,
} from "./growing-item.ts";

const ITEM = "response.output_item";
const KINDS: readonly Kind[] = [SUMMARY, REASONING, TEXT, REFUSAL, ARGUMENTS, INPUT];
const PAIRED = new Set([ITEM, ...KINDS.flatMap(({ events, part }) => [events, part?.events ?? events])]);

interface Open {
  /** The name of its events, without what happens. */
  readonly events: string;
  readonly item: number;
  /** Members that say where it is. */
  readonly place: JsonObject;
}

/** What a server's own events started and did not end: items, their parts and texts. */
export class OpenEvents {
  #open: Open[] = [];

  /** Notes an event that is handed on. */
  note(type: string, { output_index = 0, item_id, content_index, summary_index }: JsonObject): void {
    const [, events = "", happens] = /^(.*)\.(added|delta|done)$/.exec(type) ?? [];
    if (!PAIRED.has(events)) return;
    const item = Number(output_index);
    const isSame = (one: Open) => one.events === events && one.item === item;
    if (happens === "done") this.#open = this.#open.filter((one) => !isSame(one));
    else if (!this.#open.some(isSame))
      this.#open.push({
        events,
        item,
        place: {
          ...(item_id !== undefined && { item_id }),
          output_index,
          ...(content_index !== undefined && { content_index }),
          ...(summary_index !== undefined && { summary_index }),
        },
      });
  }

  /** Sends the events that end it, the last one first. @param output the items so far */
  end(output: readonly JsonObject[], send: SendEvent): void {
    for (const { events, item: index, place } of this.#open.toReversed()) {
      const item = output[index];
      if (item) send(`${events}.done`, { ...place, ...endOf(events, item, place) });
    }
    this.#open = [];
  }
}

function endOf(events: string, item: JsonObject, place: JsonObject): JsonObject {
  if (events === ITEM) return { item };
  const kind = KINDS.find(({ events: own, part }) => own === events || part?.events === events);
  const part = kind?.part && objectsOf(item[kind.part.list])[Number(place[kind.part.index] ?? 0)];
  if (kind?.part && events === kind.part.events) return { part: part ?? {} };
  const text = kind ? textOf((part ?? item)[kind.text]) : "";
  return { [kind?.text ?? "text"]: text, ...(kind?.hasLogprobs && { logprobs: part?.["logprobs"] ?? [] }) };
}
