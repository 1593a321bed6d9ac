//! How clients revoke each other's extent locks. A client flushes the extents under a lock before it returns the lock.

use super::extent::List;
use super::lock::{Lock, LockRequest};
use super::simulation::{Due, Simulation};
use super::writer::{Activity, LOCK};

impl Simulation<'_> {
    /// Takes the lock for the writer's next piece: one that its client holds, or a new one from the target.
    pub(super) fn take_lock(&mut self, id: usize) {
        if self.plan.group_lock {
            return self.start_batch(id);
        }
        let request = self.request(id);
        let resource = &mut self.resources[self.objects[self.writers[id].object].resource];
        match resource.granted.iter_mut().find(|lock| lock.covers(&request) && !lock.returning) {
            Some(lock) => {
                lock.users += 1;
                self.writers[id].lock = Some(lock.id);
                self.start_batch(id);
            }
            None => {
                self.writers[id].activity = Activity::Lock;
                self.writers[id].since_ns = self.agenda.now_ns();
                self.agenda.after(self.plan.one_way_ns, Due::Enqueued(id));
            }
        }
    }

    /// The last page under the writer's lock.
    pub(super) fn lock_end(&self, id: usize) -> u64 {
        let writer = &self.writers[id];
        let resource = &self.resources[self.objects[writer.object].resource];
        let held = |id: u64| resource.granted.iter().find(|lock| lock.id == id);
        writer.lock.and_then(held).map_or(u64::MAX, |lock| lock.last)
    }

    fn request(&self, id: usize) -> LockRequest {
        let writer = &self.writers[id];
        LockRequest { writer: id, client: writer.client, first: writer.page, last: writer.page + writer.piece_left - 1 }
    }

    pub(super) fn enqueued(&mut self, id: usize) {
        let request = self.request(id);
        let resource = self.objects[self.writers[id].object].resource;
        self.resources[resource].waiting.push_back(request);
        self.grant_waiting(resource);
    }

    /// Grants requests that conflict neither with a granted lock nor with an earlier request, and revokes conflicting
    /// locks.
    fn grant_waiting(&mut self, id: usize) {
        let resource = &mut self.resources[id];
        let mut index = 0;
        while index < resource.waiting.len() {
            let request = resource.waiting[index];
            if let Some(lock) = resource.granted.iter_mut().find(|lock| lock.covers(&request) && !lock.blocking_ast) {
                lock.users += 1;
                let lock = lock.id;
                resource.waiting.remove(index);
                self.writers[request.writer].lock = Some(lock);
                self.agenda.after(self.plan.one_way_ns, Due::Granted(request.writer));
                continue;
            }
            let mut earlier = resource.waiting.iter().take(index);
            let behind = earlier.any(|other| other.first <= request.last && request.first <= other.last);
            let mut free = !behind;
            for lock in resource.granted.iter_mut().filter(|lock| lock.overlaps(&request)) {
                free = false;
                if !lock.blocking_ast && !behind {
                    lock.blocking_ast = true;
                    self.account.locks_taken += 1;
                    self.agenda.after(self.plan.one_way_ns, Due::BlockingAst(id, lock.id));
                }
            }
            if free {
                // Granted as wide as other locks and requests allow; taken off the list above.
                let lock = resource.widest(&request);
                resource.granted.push(lock);
            } else {
                index += 1;
            }
        }
    }

    /// The writer gets the lock. (Its client has counted it as a user since the target granted it.)
    pub(super) fn granted(&mut self, id: usize) {
        self.report_wait(id, LOCK);
        self.start_batch(id);
    }

    /// Blocking AST: the lock takes no more writers. When the last has left, all extents under it are written.
    pub(super) fn blocking_ast(&mut self, resource: usize, id: u64) {
        let lock = self.lock_mut(resource, id);
        lock.returning = true;
        if lock.users == 0 {
            self.flush_lock(resource, id);
        }
    }

    pub(super) fn drop_lock(&mut self, writer: usize) {
        let Some(id) = self.writers[writer].lock.take() else { return };
        let resource = self.objects[self.writers[writer].object].resource;
        let lock = self.lock_mut(resource, id);
        lock.users -= 1;
        if lock.users == 0 && lock.returning {
            self.flush_lock(resource, id);
        }
    }

    /// osc_lock_flush: high-priority extents, which may exceed the limit of RPCs in flight.
    fn flush_lock(&mut self, resource: usize, id: u64) {
        let lock = self.lock_mut(resource, id);
        let (client, first, last) = (lock.client, lock.first, lock.last);
        let (file, stripe) = (resource / self.plan.stripes, resource % self.plan.stripes);
        let object = self.object_of(client * self.plan.files + file, stripe);
        let all = self.writeback_range(object, first, last, List::HighPriority);
        for extent in &all {
            self.extents[*extent].lock = Some(id);
        }
        self.lock_mut(resource, id).flushing = all.len();
        if all.is_empty() {
            self.agenda.after(self.plan.one_way_ns, Due::Cancelled(resource, id));
        } else if self.list_maint(object) {
            self.check_rpcs(self.objects[object].osc);
        }
    }

    /// One of the lock's extents has been written.
    pub(super) fn lock_flushed(&mut self, resource: usize, id: u64) {
        let lock = self.lock_mut(resource, id);
        lock.flushing -= 1;
        if lock.flushing == 0 {
            self.agenda.after(self.plan.one_way_ns, Due::Cancelled(resource, id));
        }
    }

    pub(super) fn cancelled(&mut self, resource: usize, id: u64) {
        self.resources[resource].granted.retain(|lock| lock.id != id);
        self.grant_waiting(resource);
    }

    fn lock_mut(&mut self, resource: usize, id: u64) -> &mut Lock {
        let lock = self.resources[resource].granted.iter_mut().find(|lock| lock.id == id);
        lock.expect("a lock exists until its client has cancelled it")
    }

    /// Ranks of the writers whose client holds a lock that this writer waits for.
    pub(super) fn lock_holders(&self, id: usize) -> Vec<usize> {
        let request = self.request(id);
        let resource = &self.resources[self.objects[self.writers[id].object].resource];
        let clients: Vec<usize> =
            resource.granted.iter().filter(|lock| lock.overlaps(&request)).map(|lock| lock.client).collect();
        (0..self.writers.len()).filter(|writer| clients.contains(&self.writers[*writer].client)).collect()
    }
}
