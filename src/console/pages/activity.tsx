import { Page } from "../ui/index.ts";
import { ActivityTabs, useFilter } from "./activity/activity-tabs.tsx";
import { ExportList } from "./activity/export-list.tsx";

export function ActivityPage() {
  return (
    <Page title="Activity" actions={<ExportList filter={useFilter()} />}>
      <div>
        <ActivityTabs />
      </div>
    </Page>
  );
}
