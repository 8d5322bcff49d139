import { useState } from 'preact/hooks';
import { about } from '../api/about.ts';
import { Notice } from '../ui/notice.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { Attempts, Configs, Deliveries } from './push-lists.tsx';
import { Receiver } from './receiver.tsx';

type PushTab = 'attempts' | 'pending' | 'dead' | 'configs' | 'receiver';

/** Webhooks: calls, pending and dead deliveries, registrations, and the built-in receiver. */
export function PushView() {
  const [tab, setTab] = useState<PushTab>('attempts');
  return (
    <div class="single-view">
      <div class="view-bar">
        <h1>Push</h1>
      </div>
      {about.value?.hasPush === false && (
        <Notice tone="info">
          Webhooks are disabled on this server. Enable them with{' '}
          <code>push_notifications_enabled: true</code> in the <code>a2a_server</code> section of
          endpoints.yml, or with <code>push</code> of <code>serve()</code>. The receiver works
          either way.
        </Notice>
      )}
      <Tabs
        label="Push"
        current={tab}
        onChange={setTab}
        tabs={[
          { name: 'attempts', title: 'Deliveries' },
          { name: 'pending', title: 'Pending' },
          { name: 'dead', title: 'Dead letters' },
          { name: 'configs', title: 'Registered' },
          { name: 'receiver', title: 'Receiver' },
        ]}
      >
        <div class="push-content">
          {tab === 'attempts' && <Attempts />}
          {tab === 'pending' && <Deliveries key="pending" state="pending" />}
          {tab === 'dead' && <Deliveries key="dead" state="dead" />}
          {tab === 'configs' && <Configs />}
          {tab === 'receiver' && <Receiver />}
        </div>
      </Tabs>
    </div>
  );
}
