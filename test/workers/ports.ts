import { Channel, type Port } from "../../src/workers/channel.ts";

/** Two ends of one connection in this process. `end` ends it as a dead process does. */
export function channels(): { primary: Channel; worker: Channel; end(): void } {
  const receivers: ((message: unknown) => void)[] = [];
  const ends: (() => void)[] = [];
  let isOpen = true;
  const portTo = (other: 0 | 1): Port => ({
    send: (message, onSent) => {
      const copy = structuredClone(message);
      if (isOpen) queueMicrotask(() => receivers[other]?.(copy));
      else onSent(new Error("the channel is closed"));
    },
    onMessage: (receive) => void (receivers[1 - other] = receive),
    onGone: (act) => void ends.push(act),
  });
  const [primary, worker] = [new Channel(portTo(1)), new Channel(portTo(0))];
  const end = () => {
    isOpen = false;
    for (const act of ends) act();
  };
  return { primary, worker, end };
}
