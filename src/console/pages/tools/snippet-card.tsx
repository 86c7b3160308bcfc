import { useState } from "react";
import { Card, Code, Tabs } from "../../ui/index.ts";
import type { ToolCall } from "../playground/tool-call.ts";
import { snippetsOf } from "./snippets.ts";

/** The call as programs. */
export function SnippetCard({ baseUrl, call }: { baseUrl: string; call: ToolCall }) {
  const snippets = snippetsOf(baseUrl, call);
  const [selected, setSelected] = useState("curl");
  const snippet = snippets.find(({ id }) => id === selected);
  if (!snippet) return null;
  return (
    <Card title="Call it">
      <Tabs label="Language" tabs={snippets} current={selected} onChange={setSelected}>
        {snippet.install !== undefined && <Code text={snippet.install} label="installation command" />}
        <Code text={snippet.text} label={`${snippet.label} snippet`} />
        <p className="hint">
          The key is read from <code>TOOLGATE_API_KEY</code>.
        </p>
      </Tabs>
    </Card>
  );
}
