import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { OperationsService } from "#gen/toolgate/v1/operations_service_pb.ts";
import { formatUsd } from "../../../format.ts";
import { Button, Card, Code, ErrorNote, Field, Select, Textarea } from "../../../ui/index.ts";
import { formatDocument, jsonError } from "./draft.ts";

/** Calls a custom tool of the draft on its real server; nothing is charged or stored. */
export function TryCard({ document, tools }: { document: string; tools: readonly string[] }) {
  const [chosen, setChosen] = useState("");
  const [params, setParams] = useState("{}");
  const { mutate, data, error, isPending } = useMutation(OperationsService.method.tryTool);
  const tool = tools.includes(chosen) ? chosen : (tools[0] ?? "");
  const problem = jsonError(params);
  if (tools.length === 0) return null;
  return (
    <Card title="Try a tool of the draft" note="on its real server; nothing is charged">
      <form
        className="plan"
        onSubmit={(event) => {
          event.preventDefault();
          if (problem === undefined) mutate({ document, tool, params });
        }}
      >
        <Field label="Tool">
          {(control) => (
            <Select
              {...control}
              value={tool}
              options={tools.map((name) => ({ value: name, label: name }))}
              onChange={({ target }) => setChosen(target.value)}
            />
          )}
        </Field>
        <Field label="Params (JSON)" error={problem}>
          {(control) => (
            <Textarea
              {...control}
              className="draft-text"
              rows={4}
              value={params}
              onChange={({ target }) => setParams(target.value)}
            />
          )}
        </Field>
        <div className="actions">
          <Button type="submit" busy={isPending}>
            Try
          </Button>
        </div>
      </form>
      <ErrorNote error={error} />
      {data && (
        <>
          <p>
            Price {formatUsd(data.priceUsdcMicrousd)}; this call would be charged{" "}
            {formatUsd(data.chargeUsdcMicrousd)}.
          </p>
          <Code text={formatDocument(data.result)} label="result as JSON" bounded />
        </>
      )}
    </Card>
  );
}
