"""Read the cloud's state of one host from nova: services, compute nodes, instances, migrations and PCI devices.

Begin with sql.py: NovaSql is the StateSource that reads the cell database, in one read-only transaction.
none.py is the StateSource of a host without nova.

- Statements: columns.py lists tables and columns, tables.py has the statements, engine.py opens the database.
- Deadlines: engine.py limits statements, connection.py limits the socket, sql.py runs all database calls on one
  separate thread.
- Values: rows.py turns rows into values of agent/model/nova.py, documents.py parses nova's JSON documents, and
  guest_rows_cache.py avoids parsing unchanged rows again.

The agent uses rows.py, documents.py, columns.py and guest_rows_cache.py also for nova-conductor's answers; the client
for nova-conductor is in agent/conductor. This package never writes to the database and does not judge its rows:
agent/audit/freshness.py decides whether the rows are recent enough, and agent/books compares the values.
"""
