import { useCallback, useState } from "react";
import type { Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { useSignedIn } from "../../session.tsx";
import { exampleFor } from "./examples.ts";
import { asObject, asText, type ParamTexts } from "./schema.ts";
import { readFromTab, writeToTab } from "./tab-storage.ts";

/** The texts of a tool's form: the edited ones of this tab, otherwise the tool's example. */
export function useFormTexts({ name, inputSchema }: Tool): [ParamTexts, (texts: ParamTexts) => void] {
  const { sessionId } = useSignedIn().session;
  const [texts, setTexts] = useState<ParamTexts>(() => {
    const stored = readFromTab(`form-${name}`, sessionId);
    if (stored === undefined) return exampleFor(name, inputSchema);
    return Object.fromEntries(Object.entries(asObject(stored)).map(([field, text]) => [field, asText(text)]));
  });
  const change = useCallback(
    (next: ParamTexts) => {
      setTexts(next);
      writeToTab(`form-${name}`, sessionId, next);
    },
    [name, sessionId],
  );
  return [texts, change];
}
