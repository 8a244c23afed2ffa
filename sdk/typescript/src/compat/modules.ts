/** Modules of the earlier SDKs. */

import type { KedgeClient } from '../client/kedge.js';
import type { AnswerOf, BodyOf, QueryOf, Schemas } from '../client/operation.js';
import { CompatNotFoundError, translated } from './errors.js';
import { type CompatAction, type CompatListParams, type CompatPage, type Fields, actionOf, allOf, listQuery, pageOf, searchOf } from './forms.js';

/** Tokens of a login. */
export interface TokenPair {
  access_token: string;
  refresh_token: string | null;
  token_type?: string;
}

type Named<T> = T & { name: string | null };
const named = <T extends { nickname: string | null }>(wallet: T): Named<T> => ({ ...wallet, name: wallet.nickname });
const nicknameOf = ({ name, ...others }: Fields): Fields => (name === undefined ? others : { ...others, nickname: name });

/** Accounts. */
export class Wallets {
  constructor(readonly client: KedgeClient) {}

  login(email: string, password: string): Promise<TokenPair> {
    return translated(() => this.client.login(email, password));
  }

  register(email: string, password: string, extra: Fields = {}): Promise<TokenPair> {
    return translated(() => this.client.registerWallet({ email, password, ...nicknameOf(extra) }));
  }

  me(): Promise<Named<Schemas['OwnWallet']>> {
    return translated(async () => named(await this.client.getOwnWallet()));
  }

  updateMe(fields: Fields): Promise<Named<AnswerOf<'updateOwnWallet'>>> {
    return translated(async () => named(await this.client.updateOwnWallet(nicknameOf(fields))));
  }

  refreshToken(refreshToken?: string): Promise<TokenPair> {
    return translated(async () => {
      const session = await this.client.refreshToken(refreshToken);
      return { ...session, refresh_token: session.refresh_token ?? null };
    });
  }
}

/** Templates and their variations. */
export class Templates {
  constructor(readonly client: KedgeClient) {}

  list(params?: CompatListParams): Promise<CompatPage<Schemas['TemplateView']>> {
    return pageOf(this.client.listTemplates(listQuery(params)));
  }

  create(body: BodyOf<'createTemplate'>): Promise<AnswerOf<'createTemplate'>> {
    return translated(() => this.client.createTemplate(body));
  }

  get(templateId: string): Promise<Schemas['TemplateView']> {
    return translated(() => this.client.getTemplate(templateId));
  }

  update(templateId: string, body: BodyOf<'updateTemplate'>): Promise<AnswerOf<'updateTemplate'>> {
    return translated(() => this.client.updateTemplate(templateId, body));
  }

  listVariations(templateId: string, params?: CompatListParams): Promise<CompatPage<Schemas['VariationView']>> {
    return pageOf(this.client.listVariations(templateId, listQuery(params)));
  }

  createVariation(templateId: string, body: { name: string; properties?: Fields }): Promise<Schemas['VariationView']> {
    return translated(async () => {
      const { items } = await this.client.createVariations(templateId, { variations: [body] } as BodyOf<'createVariations'>);
      return items[0] as Schemas['VariationView'];
    });
  }
}

/** Objects. */
export class Objects {
  constructor(readonly client: KedgeClient) {}

  list(params?: CompatListParams): Promise<CompatPage<Schemas['ObjectView']>> {
    return pageOf(this.client.listObjects(listQuery(params) as QueryOf<'listObjects'>));
  }

  get(objectId: string): Promise<Schemas['ObjectView']> {
    return translated(() => this.client.getObject(objectId));
  }

  create(body: BodyOf<'mintObject'>): Promise<AnswerOf<'mintObject'>> {
    return translated(() => this.client.mintObject(body));
  }

  update(objectId: string, body: BodyOf<'updateObject'>): Promise<AnswerOf<'updateObject'>> {
    return translated(() => this.client.updateObject(objectId, body));
  }

  activity(objectId: string, params?: CompatListParams): Promise<CompatPage<Schemas['ActionView']>> {
    return pageOf(this.client.listObjectHistory(objectId, listQuery(params)));
  }

  search(query: Fields): Promise<CompatPage<Schemas['ObjectView']>> {
    return pageOf(this.client.searchObjects(searchOf(query) as BodyOf<'searchObjects'>));
  }

  count(query: Fields): Promise<Schemas['CountView']> {
    return translated(() => this.client.countObjects({ filter: searchOf(query)['filter'] } as BodyOf<'countObjects'>));
  }
}

/** The action bus. */
export class EventBus {
  constructor(readonly client: KedgeClient) {}

  execute(action: CompatAction): Promise<AnswerOf<'submitAction'> & { action_id: string }> {
    return translated(async () => {
      const done = await this.client.submitAction(actionOf(action));
      return { ...done, action_id: done.id };
    });
  }

  listActions(params?: CompatListParams): Promise<CompatPage<Schemas['ActionView']>> {
    return pageOf(this.client.listActions(listQuery(params)));
  }

  getAction(actionId: string): Promise<Schemas['ActionView']> {
    return translated(() => this.client.getAction(actionId));
  }

  /** Submits actions, all or none: the earlier form of the answer cannot express a refused action. */
  executeBatch(actions: readonly CompatAction[]): Promise<Schemas['ActionView'][]> {
    return translated(async () => {
      const { results } = await this.client.submitBatch({ actions: actions.map(actionOf), atomic: true });
      return results as Schemas['ActionView'][];
    });
  }
}

/** The caller's organization; others are not found. */
export class Organizations {
  constructor(readonly client: KedgeClient) {}

  get(orgId: string): Promise<Schemas['OwnOrganization']> {
    return translated(async () => {
      const own = await this.client.getOwnOrganization();
      if (orgId === own.id || orgId === 'me') return own;
      const message = 'the caller acts for another organization';
      throw new CompatNotFoundError(404, 'RESOURCE_NOT_FOUND', { message, resource: 'organization', id: orgId }, message);
    });
  }

  async listMembers(orgId: string, params?: CompatListParams): Promise<CompatPage<Schemas['WalletView']>> {
    await this.get(orgId);
    return pageOf(this.client.listMembers(listQuery(params)));
  }

  async removeMember(orgId: string, memberId: string): Promise<void> {
    await this.get(orgId);
    await translated(() => this.client.removeMember(memberId));
  }

  async updateMemberRole(orgId: string, memberId: string, role: Schemas['Role']): Promise<AnswerOf<'setMemberRole'>> {
    await this.get(orgId);
    return translated(() => this.client.setMemberRole(memberId, { wallet_id: memberId, role } as BodyOf<'setMemberRole'>));
  }

  async invite(orgId: string, body: BodyOf<'inviteMember'>): Promise<AnswerOf<'inviteMember'>> {
    await this.get(orgId);
    return translated(() => this.client.inviteMember(body));
  }

  async listInvitations(orgId: string): Promise<Schemas['InvitationView'][]> {
    await this.get(orgId);
    return allOf(this.client.listInvitations());
  }

  async deleteInvitation(orgId: string, invitationId: string): Promise<void> {
    await this.get(orgId);
    await translated(() => this.client.revokeInvitation(invitationId));
  }
}

/** Files. */
export class Storage {
  constructor(readonly client: KedgeClient) {}

  upload(form: FormData): Promise<AnswerOf<'uploadFile'> & { url: string }> {
    return translated(async () => {
      const file = form.get('file');
      if (!(file instanceof Blob)) throw new TypeError('the form has no file under the name "file"');
      const name = form.get('name') ?? (file as File).name;
      const made = await this.client.uploadFile({ file, name: String(name) });
      return { ...made, url: made.content_path };
    });
  }

  get(fileId: string): Promise<Schemas['FileView'] & { url: string }> {
    return translated(async () => {
      const file = await this.client.getFile(fileId);
      return { ...file, url: file.content_path };
    });
  }
}

/** Webhooks. */
export class Webhooks {
  constructor(readonly client: KedgeClient) {}

  list(params?: CompatListParams): Promise<CompatPage<Schemas['WebhookView']>> {
    return pageOf(this.client.listWebhooks(listQuery(params)));
  }

  create(body: BodyOf<'createWebhook'>): Promise<AnswerOf<'createWebhook'>> {
    return translated(() => this.client.createWebhook(body));
  }

  get(webhookId: string): Promise<Schemas['WebhookView']> {
    return translated(() => this.client.getWebhook(webhookId));
  }

  update(webhookId: string, body: BodyOf<'updateWebhook'>): Promise<AnswerOf<'updateWebhook'>> {
    return translated(() => this.client.updateWebhook(webhookId, body));
  }

  async delete(webhookId: string): Promise<void> {
    await translated(() => this.client.deleteWebhook(webhookId));
  }

  test(webhookId: string): Promise<Schemas['DeliveryView']> {
    return translated(() => this.client.testWebhook(webhookId));
  }
}

/** The log's batches. */
export class Sequencer {
  constructor(readonly client: KedgeClient) {}

  listBatches(params?: CompatListParams): Promise<CompatPage<Schemas['BatchView']>> {
    return pageOf(this.client.listBatches(listQuery(params)));
  }

  getBatch(batchId: string): Promise<Schemas['BatchView']> {
    return translated(() => this.client.getBatch(batchId));
  }
}

/** API keys. */
export class ApiKeys {
  constructor(readonly client: KedgeClient) {}

  list(): Promise<Schemas['ApiKeyView'][]> {
    return allOf(this.client.listApiKeys());
  }

  create(body: BodyOf<'createApiKey'>): Promise<AnswerOf<'createApiKey'>> {
    return translated(() => this.client.createApiKey(body));
  }

  async delete(apiKeyId: string): Promise<void> {
    await translated(() => this.client.deleteApiKey(apiKeyId));
  }
}
